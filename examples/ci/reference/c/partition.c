/* Where librdkafka's own partitioner=murmur2 puts a key. cc -o partition partition.c -lrdkafka */
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
        int partitions = atoi(getenv("KEYROUTE_PARTITIONS"));
        char *line = NULL;
        size_t size = 0;

        while (getline(&line, &size, stdin) > 0) {
                size_t len = 0;

                for (unsigned byte; sscanf(line + 2 * len, "%2x", &byte) == 1; len++)
                        line[len] = (char)byte; /* in place: byte n comes from the characters 2n and 2n + 1 */
                printf("%d\n", rd_kafka_msg_partitioner_murmur2(NULL, line, len, partitions, NULL, NULL));
        }
        free(line);
        return 0;
}
