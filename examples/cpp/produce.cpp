/*
 * A C++ producer, by librdkafka's own C++ interface: two properties route it, and nothing else in it knows of Keyroute.
 *
 *   c++ -o produce produce.cpp $(pkg-config --cflags --libs rdkafka++)
 *   ./produce BOOTSTRAP TOPIC POLICY < LINES        a line: KEY, a tab, VALUE; or VALUE alone, without a key
 *
 * The producer is told the topic's name for each record. One that holds an RdKafka::Topic with an RdKafka::Conf of its own
 * bypasses the plugin: give it a null pointer for that, or name the topic in keyroute.topics.force.
 * KEYROUTE_PLUGIN names the plugin where it is not installed for the loader to find: pkg-config --variable=plugin keyroute
 */
#include <librdkafka/rdkafkacpp.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

class Failures : public RdKafka::DeliveryReportCb {
public:
        int count = 0;

        void add(RdKafka::ErrorCode err)
        {
                count++;
                std::cerr << "produce: not delivered: " << RdKafka::err2str(err) << '\n';
        }

        void dr_cb(RdKafka::Message &message) override
        {
                if (message.err())
                        add(message.err());
        }
};

static void set(RdKafka::Conf &conf, const std::string &name, const std::string &value)
{
        std::string why;

        if (conf.set(name, value, why) != RdKafka::Conf::CONF_OK) {
                std::cerr << "produce: " << why << '\n';
                std::exit(2);
        }
}

static void produce(RdKafka::Producer &producer, const std::string &topic, std::string &line, Failures &failures)
{
        std::size_t tab = line.find('\t');
        bool keyed = tab != std::string::npos;
        std::size_t value = keyed ? tab + 1 : 0;
        RdKafka::ErrorCode err;

        do {
                err = producer.produce(topic, RdKafka::Topic::PARTITION_UA, RdKafka::Producer::RK_MSG_COPY, &line[value],
                                       line.size() - value, keyed ? line.data() : nullptr, keyed ? tab : 0, 0, nullptr);
                producer.poll(err == RdKafka::ERR__QUEUE_FULL ? 100 : 0);
        } while (err == RdKafka::ERR__QUEUE_FULL);
        if (err)
                failures.add(err); // a refused record, once the topic is known: nothing was sent anywhere
}

int main(int argc, char **argv)
{
        std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
        const char *plugin = std::getenv("KEYROUTE_PLUGIN");
        Failures failures;
        std::string line, why;

        if (argc != 4) {
                std::cerr << "usage: produce BOOTSTRAP TOPIC POLICY < LINES\n";
                return 2;
        }
        set(*conf, "bootstrap.servers", argv[1]);
        set(*conf, "plugin.library.paths", plugin ? plugin : "keyroute"); // before its own properties
        set(*conf, "keyroute.policy", argv[3]);
        conf->set("dr_cb", &failures, why);
        std::unique_ptr<RdKafka::Producer> producer(RdKafka::Producer::create(conf.get(), why));
        if (!producer) {
                std::cerr << "produce: " << why << '\n';
                return 2;
        }
        while (std::getline(std::cin, line))
                produce(*producer, argv[2], line, failures);
        producer->flush(30000);
        return failures.count + producer->outq_len() != 0;
}
