/* A cluster as the file that pl_cluster_parse() reads: pl_cluster_print(). */
#include "cluster/field.h"
#include "cluster/yaml.h"

static void print_source(pl_text *out, const char *source)
{
    if (!*source) return;
    pl_text_add(out, ", source: ");
    pl_yaml_print_text(out, source);
}

static void print_figure(pl_text *out, const char *key, pl_unit unit, const pl_figure *figure)
{
    const char *value = pl_unit_text(out->arena, unit, figure->value);
    pl_text_add(out, "    %s: ", key);
    if (*figure->source) {
        pl_text_add(out, "{value: %s", value);
        print_source(out, figure->source);
        pl_text_add(out, "}\n");
    } else {
        pl_text_add(out, "%s\n", value);
    }
}

static void print_figures(pl_text *out, const pl_field fields[], void *row)
{
    for (const pl_field *f = fields; f->key; f++)
        print_figure(out, f->key, f->unit, pl_field_at(f, row));
}

static void print_curve(pl_text *out, const pl_level *level)
{
    pl_text_add(out, "    messages:\n");
    if (*level->curve_source) {
        pl_text_add(out, "      source: ");
        pl_yaml_print_text(out, level->curve_source);
        pl_text_add(out, "\n");
    }
    pl_text_add(out, "      value:\n");
    for (int i = 0; i < level->link.n_points; i++)
        pl_text_add(out, "        - [%s, %s]\n",
                    pl_unit_text(out->arena, PL_UNIT_BYTES, level->link.point[i].bytes),
                    pl_unit_text(out->arena, PL_UNIT_SECONDS, level->link.point[i].seconds));
}

static void print_level(pl_text *out, const pl_level *level)
{
    pl_text_add(out, "  - name: ");
    pl_yaml_print_text(out, level->name);
    pl_text_add(out, "\n    size: %d\n", level->size);
    if (level->link.n_points) {
        print_curve(out, level);
    } else {
        print_figure(out, "latency", PL_UNIT_SECONDS, &level->latency);
        print_figure(out, level->shared ? "uplink" : "bandwidth", PL_UNIT_RATE, &level->bandwidth);
    }
    print_figures(out, pl_field_curved, (void *)(uintptr_t)level);
}

void pl_cluster_print(const pl_cluster *cluster, pl_text *out)
{
    pl_text_add(out, "schema: pleat.cluster/1\nname: ");
    pl_yaml_print_text(out, cluster->name);
    pl_text_add(out, "\nclasses:\n");
    for (int i = 0; i < cluster->n_classes; i++) {
        pl_text_add(out, "  ");
        pl_yaml_print_text(out, cluster->class[i].name);
        pl_text_add(out, ":\n");
        print_figures(out, pl_field_class, &cluster->class[i]);
    }
    pl_text_add(out, "levels: # innermost first\n");
    for (int i = 0; i < cluster->n_levels; i++) print_level(out, &cluster->level[i]);
    pl_text_add(out, "groups: # of the outermost level\n");
    for (int i = 0; i < cluster->n_parts; i++) {
        pl_text_add(out, "  - {class: ");
        pl_yaml_print_text(out, cluster->class[cluster->part[i].class].name);
        pl_text_add(out, ", count: %d}\n", cluster->part[i].count);
    }
}
