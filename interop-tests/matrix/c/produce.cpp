// Produces the job on stdin with librdkafka's C++ interface. Arguments and job as for produce.c.
#include <librdkafka/rdkafkacpp.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

struct Delivered : RdKafka::DeliveryReportCb {
        size_t count = 0;

        void dr_cb(RdKafka::Message &message) override
        {
                if (message.err())
                        std::cerr << "produce: " << message.errstr() << "\n";
                else
                        count++;
        }
};

template <class T> void set(RdKafka::Conf &conf, const std::string &name, T value)
{
        std::string text;

        if (conf.set(name, value, text) != RdKafka::Conf::CONF_OK)
                throw std::runtime_error(text);
}

std::string from_hex(const std::string &text)
{
        std::string bytes;

        for (size_t i = 0; i < text.size(); i += 2)
                bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
        return bytes;
}

void produce(const std::string &version, const std::string &partitioner, const std::string &bootstrap,
             const std::string &tag)
{
        std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
        Delivered delivered;
        std::string text, line;
        size_t sent = 0;

        if (version != RdKafka::version_str())
                throw std::runtime_error("this is librdkafka++ " + RdKafka::version_str());
        set(*conf, "bootstrap.servers", bootstrap);
        set<RdKafka::DeliveryReportCb *>(*conf, "dr_cb", &delivered);
        if (partitioner != "default")
                set(*conf, "partitioner", partitioner);
        std::unique_ptr<RdKafka::Producer> producer(RdKafka::Producer::create(conf.get(), text));
        if (!producer)
                throw std::runtime_error(text);
        while (std::getline(std::cin, line)) {
                const size_t tab = line.find('\t');
                const bool keyless = line.substr(tab + 1) == "-";
                const std::string key = keyless ? "" : from_hex(line.substr(tab + 1));
                std::string value = tag + "\t" + std::to_string(sent++);
                const auto err = producer->produce(line.substr(0, tab), RdKafka::Topic::PARTITION_UA,
                                                   RdKafka::Producer::RK_MSG_COPY, value.data(), value.size(),
                                                   keyless ? nullptr : key.data(), key.size(), 0, nullptr);
                if (err)
                        throw std::runtime_error(RdKafka::err2str(err));
                producer->poll(0);
        }
        producer->flush(60 * 1000);
        if (delivered.count != sent)
                throw std::runtime_error(std::to_string(delivered.count) + " of " + std::to_string(sent) +
                                         " records were delivered");
}

} // namespace

int main(int argc, char **argv)
{
        try {
                if (argc != 5)
                        throw std::runtime_error("usage: produce VERSION PARTITIONER BOOTSTRAP TAG < JOB");
                produce(argv[1], argv[2], argv[3], argv[4]);
        } catch (const std::exception &e) {
                std::cerr << "produce: " << e.what() << "\n";
                return 1;
        }
        return 0;
}
