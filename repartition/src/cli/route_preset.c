#include "cli/route_preset.h"

#include "report/key_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_string(const char *text)
{
        rp_print_json_string(stdout, text, strlen(text));
}

/* What a value looks like, for people: "text|number|uuid", "1-100000" or "TEXT". */
static void print_expected(const struct kr_preset_param *param)
{
        if (param->choices)
                for (size_t c = 0; param->choices[c]; c++)
                        printf("%s%s", c ? "|" : "", param->choices[c]);
        else if (param->max)
                printf("%" PRId64 "-%" PRId64, param->min, param->max);
        else
                fputs("TEXT", stdout);
}

static void list_text(const struct kr_preset_info *info)
{
        printf("%s\n  store    %s\n  prints   %s\n", info->name, info->store, info->prints);
        for (const struct kr_preset_param *param = info->params; param->name; param++) {
                printf("  %s %s=", param == info->params ? "takes   " : "        ", param->name);
                print_expected(param);
                printf("   %s (%s%s)\n", param->help, param->fallback ? "default " : "needed",
                       param->fallback ? param->fallback : "");
        }
        printf("  source   %s\n", info->source);
}

static void list_json(const struct kr_preset_info *info)
{
        printf("{\"preset\": \"%s\", \"store\": ", info->name);
        print_string(info->store);
        fputs(", \"prints\": ", stdout);
        print_string(info->prints);
        fputs(", \"source\": ", stdout);
        print_string(info->source);
        fputs(", \"parameters\": [", stdout);
        for (const struct kr_preset_param *param = info->params; param->name; param++) {
                printf("%s{\"name\": \"%s\", \"default\": ", param == info->params ? "" : ", ", param->name);
                if (param->fallback)
                        print_string(param->fallback);
                else
                        fputs("null", stdout);
                fputs(", \"expected\": \"", stdout);
                print_expected(param);
                fputs("\", \"help\": ", stdout);
                print_string(param->help);
                putchar('}');
        }
        puts("]}");
}

void rp_list_presets(bool json)
{
        const struct kr_preset_info *info;

        for (size_t i = 0; (info = kr_preset_info_at(i)); i++) {
                if (i && !json)
                        putchar('\n');
                (json ? list_json : list_text)(info);
        }
}

/* The word that the parameter `type` has for keys of this format; NULL when the format does not say. */
static const char *type_of_format(const char *key_format)
{
        if (!strcmp(key_format, "int32") || !strcmp(key_format, "int64"))
                return "number";
        return strcmp(key_format, "uuid") ? NULL : "uuid";
}

rp_err_t rp_preset_open(const char *spec, const char *key_format, kr_preset_t **out, struct rp_error *err)
{
        struct kr_error why;
        const char *type;

        *out = kr_preset_new(spec, type_of_format(key_format), &why);
        if (!*out)
                return rp_fail(err, RP_ERR_USAGE, "%s", why.text);
        type = kr_preset_type(*out);
        /* "42" as text is two bytes and could pass for a number of 16 bits. */
        if (type && strcmp(type, "text") && !strcmp(key_format, "text")) {
                kr_preset_free(*out);
                *out = NULL;
                return rp_fail(err, RP_ERR_USAGE,
                               "preset %.60s: keys of type %s are bytes, not text: add --key-format %s", spec, type,
                               !strcmp(type, "number") ? "int32 or int64"
                               : !strcmp(type, "uuid") ? "uuid"
                                                       : "hex or base64");
        }
        return RP_OK;
}

static void print_json(const struct kr_placement *placement, const char *spec, const struct rp_key *key,
                       const kr_locations_t *locations, const char *location)
{
        putchar('{');
        rp_print_json_key(stdout, key->data, key->len);
        fputs(", \"preset\": ", stdout);
        print_string(spec);
        for (size_t i = 0; i < placement->field_cnt; i++) {
                const struct kr_placement_field *field = &placement->fields[i];

                printf(", \"%s\": ", field->name);
                if (field->is_text)
                        print_string(field->text);
                else
                        fputs(field->text, stdout);
        }
        if (locations) {
                fputs(", \"location\": ", stdout);
                if (location)
                        print_string(location);
                else
                        fputs("null", stdout);
        }
        puts("}");
}

rp_err_t rp_print_placement(const kr_preset_t *preset, const char *spec, const struct rp_key *key, const char *text,
                            size_t len, const kr_locations_t *locations, bool json, struct rp_error *err)
{
        const char *location = NULL;
        struct kr_placement placement;
        struct kr_error why;

        if (!kr_preset_place(preset, key->data, key->len, &placement, &why))
                return rp_fail(err, RP_ERR_USAGE, "%s", why.text);
        if (locations && placement.bucket >= 0)
                location = kr_locations_name(locations, placement.bucket);
        if (json) {
                print_json(&placement, spec, key, locations, location);
                return RP_OK;
        }
        fwrite(text, 1, len, stdout);
        for (size_t i = 0; i < placement.field_cnt; i++)
                printf("\t%s", placement.fields[i].text);
        if (location)
                printf("\t%s", location);
        putchar('\n');
        return RP_OK;
}
