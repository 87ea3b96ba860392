#include "decide/dispersion.h"

#include <math.h>
#include <stdlib.h>

enum { ENOUGH = 30 };

struct places {
        const int32_t *predicted;
        const int32_t *seen;
        const unsigned char *is_explained;
        size_t cnt;
        int32_t predicted_cnt, seen_cnt;
};

/* Over the differences seen - predicted, round the smaller count: polynomial hashes shift with what they hash. */
static double differences(const struct places *at, size_t *counts)
{
        double expected, sum = 0;
        size_t used = 0;

        for (int32_t c = 0; c < at->predicted_cnt; c++)
                counts[c] = 0;
        for (size_t i = 0; i < at->cnt; i++)
                if (!at->is_explained[i] && at->seen[i] < at->predicted_cnt) {
                        int32_t shift = at->seen[i] - at->predicted[i];

                        counts[shift < 0 ? shift + at->predicted_cnt : shift]++;
                        used++;
                }
        if (used < ENOUGH || at->predicted_cnt < 3)
                return 1;
        /* Even, since what a hash predicts is even, whatever the places are like. */
        expected = (double)used / (at->predicted_cnt - 1);
        for (int32_t c = 1; c < at->predicted_cnt; c++)
                sum += ((double)counts[c] - expected) * ((double)counts[c] - expected) / expected;
        return sum / (at->predicted_cnt - 2);
}

static int by_code(const void *a, const void *b)
{
        uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

        return (left > right) - (left < right);
}

/*
 * Over the cells of the table. Places have whatever distribution they have; a cell's share of its column is the share of
 * all keys that the function sends to its row, but for the diagonal, which would be explained. Only cells that occur
 * are visited, so the table may be as large as it likes.
 */
static double table(const struct places *at, size_t *rows, size_t *columns, uint64_t *codes)
{
        size_t rest = 0, row_cnt = 0, cells = 0;
        double sum = 0, freedom = 0;

        for (int32_t r = 0; r < at->predicted_cnt; r++)
                rows[r] = 0;
        for (int32_t c = 0; c < at->seen_cnt; c++)
                columns[c] = 0;
        for (size_t i = 0; i < at->cnt; i++) {
                rows[at->predicted[i]]++;
                if (at->is_explained[i])
                        continue;
                columns[at->seen[i]]++;
                codes[rest++] = (uint64_t)at->predicted[i] << 32 | (uint64_t)at->seen[i];
        }
        for (int32_t r = 0; r < at->predicted_cnt; r++)
                row_cnt += rows[r] > 0;
        for (int32_t c = 0; c < at->seen_cnt; c++)
                if (columns[c]) {
                        cells = row_cnt - (c < at->predicted_cnt && rows[c]);
                        freedom += (double)cells - 1;
                }
        if (rest < ENOUGH || freedom < 1)
                return 1;
        qsort(codes, rest, sizeof(*codes), by_code);
        for (size_t i = 0, next; i < rest; i = next) {
                size_t row = codes[i] >> 32, column = codes[i] & 0xffffffffu;
                size_t others = at->cnt - (column < (size_t)at->predicted_cnt ? rows[column] : 0);
                double hits;

                for (next = i; next < rest && codes[next] == codes[i]; next++)
                        ;
                hits = (double)(next - i);
                sum += hits * hits * (double)others / ((double)rows[row] * (double)columns[column]);
        }
        return (sum - (double)rest) / freedom;
}

double rp_dispersion(const int32_t *predicted, const int32_t *seen, const unsigned char *is_explained, size_t cnt,
                     int32_t predicted_cnt, int32_t seen_cnt)
{
        struct places at = { predicted, seen, is_explained, cnt, predicted_cnt, seen_cnt };
        size_t *rows = malloc((size_t)predicted_cnt * sizeof(*rows));
        size_t *columns = malloc((size_t)seen_cnt * sizeof(*columns));
        uint64_t *codes = malloc((cnt + 1) * sizeof(*codes));
        double result = INFINITY;

        if (rows && columns && codes)
                result = fmax(1, fmax(differences(&at, rows), table(&at, rows, columns, codes)));
        free(rows);
        free(columns);
        free(codes);
        return result;
}
