#include "decide/mixture.h"

#include <math.h>
#include <stdlib.h>

/* Shares stay off zero, so that an observation that nothing explains has a likelihood. */
static const double SHARE_MIN = 1e-12;

bool rp_mixture_init(struct rp_mixture *mixture, const int32_t *partitions, size_t cnt, int32_t partition_cnt)
{
        *mixture = (struct rp_mixture){ .cnt = cnt, .partitions = partitions, .partition_cnt = partition_cnt, .rest = 1 };
        mixture->q = malloc((size_t)partition_cnt * sizeof(*mixture->q));
        mixture->likelihoods = malloc((cnt + 1) * sizeof(*mixture->likelihoods));
        mixture->found = malloc((size_t)partition_cnt * sizeof(*mixture->found));
        if (!mixture->q || !mixture->likelihoods || !mixture->found) {
                rp_mixture_release(mixture);
                return false;
        }
        for (int32_t p = 0; p < partition_cnt; p++)
                mixture->q[p] = 1.0 / partition_cnt;
        return true;
}

void rp_mixture_release(struct rp_mixture *mixture)
{
        free(mixture->q);
        free(mixture->likelihoods);
        free(mixture->found);
        *mixture = (struct rp_mixture){ 0 };
}

void rp_mixture_add(struct rp_mixture *mixture, const unsigned char *matches)
{
        size_t cnt = mixture->component_cnt++;
        double share = 1.0 / (double)(cnt + 2);

        for (size_t j = 0; j < cnt; j++)
                mixture->shares[j] *= 1 - share;
        mixture->rest *= 1 - share;
        mixture->shares[cnt] = share;
        mixture->matches[cnt] = matches;
}

void rp_mixture_remove(struct rp_mixture *mixture, size_t j)
{
        mixture->rest += mixture->shares[j];
        mixture->component_cnt--;
        for (; j < mixture->component_cnt; j++) {
                mixture->shares[j] = mixture->shares[j + 1];
                mixture->matches[j] = mixture->matches[j + 1];
        }
}

/* Sets the likelihoods and the fit from shares and q. */
static void measure(struct rp_mixture *mixture)
{
        double fit = 0;

        for (size_t i = 0; i < mixture->cnt; i++) {
                double likelihood = mixture->rest * mixture->q[mixture->partitions[i]];

                for (size_t j = 0; j < mixture->component_cnt; j++)
                        if (mixture->matches[j][i])
                                likelihood += mixture->shares[j];
                mixture->likelihoods[i] = likelihood;
                fit += log(likelihood);
        }
        for (int32_t p = 0; p < mixture->partition_cnt; p++)
                fit += log(mixture->q[p] * mixture->partition_cnt);
        mixture->fit = fit;
}

void rp_mixture_fit(struct rp_mixture *mixture)
{
        double *found = mixture->found;

        measure(mixture);
        for (int round = 0; mixture->cnt && round < 1000; round++) {
                double before = mixture->fit;
                double parts[RP_COMPONENTS_MAX] = { 0 }, rest = 0, total = 0;

                for (int32_t p = 0; p < mixture->partition_cnt; p++)
                        found[p] = 1; /* the pseudo-observation */
                for (size_t i = 0; i < mixture->cnt; i++) {
                        int32_t p = mixture->partitions[i];
                        double scale = 1 / mixture->likelihoods[i];
                        double part = mixture->rest * mixture->q[p] * scale;

                        rest += part;
                        found[p] += part;
                        for (size_t j = 0; j < mixture->component_cnt; j++)
                                if (mixture->matches[j][i])
                                        parts[j] += mixture->shares[j] * scale;
                }
                for (size_t j = 0; j < mixture->component_cnt; j++)
                        total += mixture->shares[j] = fmax(parts[j] / (double)mixture->cnt, SHARE_MIN);
                total += mixture->rest = fmax(rest / (double)mixture->cnt, SHARE_MIN);
                for (size_t j = 0; j < mixture->component_cnt; j++)
                        mixture->shares[j] /= total;
                mixture->rest /= total;
                for (int32_t p = 0; p < mixture->partition_cnt; p++)
                        mixture->q[p] = found[p] / (rest + mixture->partition_cnt);
                measure(mixture);
                if (mixture->fit - before < 1e-7)
                        break;
        }
}

void rp_mixture_drop_rest(struct rp_mixture *mixture)
{
        double sum = 0;

        for (size_t j = 0; j < mixture->component_cnt; j++)
                sum += mixture->shares[j];
        for (size_t j = 0; j < mixture->component_cnt; j++)
                mixture->shares[j] /= sum;
        mixture->rest = 0;
        measure(mixture);
}

double rp_mixture_gain(const struct rp_mixture *mixture, const unsigned char *matches)
{
        double low = 0, high = 1 - 1e-9, gain = 0;

        /* The log-likelihood over the newcomer's share is concave: halve towards where its slope is zero. */
        for (int round = 0; round < 24; round++) {
                double share = round ? (low + high) / 2 : 0, slope = 0;

                for (size_t i = 0; i < mixture->cnt; i++) {
                        double likelihood = mixture->likelihoods[i];

                        slope += (matches[i] - likelihood) / ((1 - share) * likelihood + share * matches[i]);
                }
                if (!round && slope <= 0)
                        return 0;
                if (slope > 0)
                        low = share;
                else
                        high = share;
        }
        for (size_t i = 0; i < mixture->cnt; i++)
                gain += log1p(low * (matches[i] / mixture->likelihoods[i] - 1));
        return gain;
}

double rp_mixture_part(const struct rp_mixture *mixture, size_t j, size_t observation)
{
        return mixture->matches[j][observation] ? mixture->shares[j] / mixture->likelihoods[observation] : 0;
}
