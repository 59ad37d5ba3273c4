/* The state of the exact search and its inference. Read pl_floors_spread(): a section that has
 * changed raises the blocks left in it, and they other sections, until nothing moves or
 * something does not fit. */
#include "arena/floors.h"

enum {
    MOST_BLOCKS = 5000,      /* equal ones are found by comparing all pairs       */
    MOST_ENTRIES = 2000000,  /* beyond that a node takes too long to be of use    */
    MOST_BUFFER_FLOORS = 128 /* they are sorted by insertion                      */
};

static bool has_same_entries(const pl_floors *f, const pl_block *a, const pl_block *block)
{
    if (a->n != block->n) return false;
    for (int i = 0; i < a->n; i++)
        if (f->entry[a->first + i].section != f->entry[block->first + i].section) return false;
    return true;
}

static void find_kinds(pl_floors *f)
{
    for (int i = 0; i < f->n_blocks; i++) {
        pl_block *b = &f->block[i];
        b->kind = i;
        if (b->fixed >= 0) continue;
        for (int k = 0; k < i; k++) {
            const pl_block *o = &f->block[k];
            if (o->kind != k || o->fixed >= 0 || o->bytes != b->bytes || o->align != b->align ||
                !has_same_entries(f, o, b))
                continue;
            b->kind = k;
            break;
        }
    }
}

/* Ranks at whose end some box ends, if one has begun since the last such rank: of all others the
 * live ones are live in a neighbour, too. number [n_times] gets how many come before each rank. */
static int number_sections(const pl_boxes *boxes, pl_arena *arena, int number[])
{
    bool *begins = PL_NEW_N(arena, bool, boxes->n_times + 1),
         *ends = PL_NEW_N(arena, bool, boxes->n_times + 1);
    for (int i = 0; i < boxes->n_boxes; i++) {
        begins[boxes->box[i].from] = true;
        ends[boxes->box[i].to] = true;
    }
    int n = 0;
    bool fresh = false;
    for (int t = 0; t < boxes->n_times; t++) {
        number[t] = n;
        fresh |= begins[t];
        if (!fresh || !ends[t + 1]) continue;
        n++;
        fresh = false;
    }
    number[boxes->n_times] = n;
    return n;
}

static void add_blocks(pl_floors *f, const pl_boxes *boxes, const int number[])
{
    int e = 0;
    for (int i = 0; i < boxes->n; i++) {
        const pl_boxed *x = &boxes->item[i];
        if (!x->n_boxes) continue;
        int64_t low = x->fixed > 0 ? x->fixed : 0;
        pl_block b = { x->bytes, x->align, x->fixed, low, 0, e, 0, f->n_sections, 0, 0, i };
        for (int k = 0; k < x->n_boxes; k++)
            for (int s = number[boxes->box[x->first + k].from];
                 s < number[boxes->box[x->first + k].to]; s++) {
                if (s < b.from) b.from = s;
                b.to = s + 1;
                f->entry[e++] = (pl_entry){ f->n_blocks, s, 0 };
                f->section[s].n++;
                f->section[s].rest += b.bytes;
            }
        b.n = e - b.first;
        f->block[f->n_blocks++] = b;
    }
}

static void link_entries(pl_floors *f, int n_entries)
{
    int first = 0;
    for (int s = 0; s < f->n_sections; s++) {
        f->section[s].first = first;
        first += f->section[s].n;
        f->section[s].n = 0;
    }
    for (int e = 0; e < n_entries; e++) {
        pl_section *s = &f->section[f->entry[e].section];
        f->entry[e].slot = s->first + s->n++;
        f->link[f->entry[e].slot] = e;
    }
}

pl_floors *pl_floors_new(const pl_boxes *boxes, unsigned off, pl_arena *arena)
{
    int *number = PL_NEW_N(arena, int, boxes->n_times + 1);
    int n_sections = number_sections(boxes, arena, number);
    int64_t n_entries = 0;
    for (int i = 0; i < boxes->n_boxes; i++)
        n_entries += number[boxes->box[i].to] - number[boxes->box[i].from];
    if (boxes->n > MOST_BLOCKS || n_entries > MOST_ENTRIES) return NULL;
    pl_floors *f = PL_NEW(arena, pl_floors);
    f->arena = arena;
    f->off = off;
    f->n_sections = n_sections;
    f->section = PL_NEW_N(arena, pl_section, n_sections);
    f->block = PL_NEW_N(arena, pl_block, boxes->n);
    f->entry = PL_NEW_N(arena, pl_entry, n_entries);
    f->link = PL_NEW_N(arena, int, n_entries);
    f->dirty = PL_NEW_N(arena, int, n_sections);
    f->head = PL_NEW_N(arena, int64_t, MOST_BUFFER_FLOORS);
    f->body = PL_NEW_N(arena, int64_t, MOST_BUFFER_FLOORS);
    add_blocks(f, boxes, number);
    link_entries(f, (int)n_entries);
    find_kinds(f);
    return f;
}

void pl_floors_touch(pl_floors *f, int section)
{
    if (f->section[section].is_dirty) return;
    f->section[section].is_dirty = true;
    f->dirty[f->n_dirty++] = section;
}

static void set(pl_floors *f, int64_t *at, int64_t value)
{
    pl_undo u = { at, *at };
    PL_PUSH(f->arena, &f->log, u);
    *at = value;
}

void pl_floors_raise(pl_floors *f, int section, int64_t floor)
{
    set(f, &f->section[section].floor, floor);
    pl_floors_touch(f, section);
}

/* Within a section those left come first: the one that leaves changes places with the last. */
static void take_out(pl_floors *f, pl_block *block)
{
    for (int e = block->first; e < block->first + block->n; e++) {
        pl_entry *x = &f->entry[e];
        pl_section *s = &f->section[x->section];
        int last = s->first + --s->n, other = f->link[last];
        f->link[x->slot] = other;
        f->link[last] = e;
        f->entry[other].slot = x->slot;
        x->slot = last;
        s->rest -= block->bytes;
    }
}

void pl_floors_place(pl_floors *f, int block)
{
    pl_block *b = &f->block[block];
    pl_undo u = { NULL, block };
    PL_PUSH(f->arena, &f->log, u);
    b->offset = b->low;
    take_out(f, b);
    for (int e = b->first; e < b->first + b->n; e++)
        pl_floors_raise(f, f->entry[e].section, b->low + b->bytes);
}

/* Steps are taken back in reverse order, so who changed places need not change back. */
void pl_floors_undo(pl_floors *f, int mark)
{
    while (f->log.n > mark) {
        pl_undo u = f->log.at[--f->log.n];
        if (u.at) {
            *u.at = u.old;
            continue;
        }
        const pl_block *b = &f->block[u.old];
        for (int e = b->first; e < b->first + b->n; e++) {
            pl_section *s = &f->section[f->entry[e].section];
            s->n++;
            s->rest += b->bytes;
        }
    }
}

/* The height that those left in a section need at least: each begins at its low or later, one after
 * the other (as one machine with release dates does: by rising low is best). */
static int64_t find_top(pl_floors *f, const pl_section *section)
{
    int64_t top = 0;
    for (int i = 0; i < section->n; i++) {
        const pl_block *b = pl_floors_left(f, section, i);
        int k = i;
        for (; k && f->head[k - 1] > b->low; k--) {
            f->head[k] = f->head[k - 1];
            f->body[k] = f->body[k - 1];
        }
        f->head[k] = b->low;
        f->body[k] = b->bytes;
    }
    for (int i = 0; i < section->n; i++) top = (f->head[i] > top ? f->head[i] : top) + f->body[i];
    return top;
}

/* Raises those left in a section to its floor, and the floor to the lowest of them. */
static bool spread_section(pl_floors *f, pl_section *section)
{
    int64_t lowest = INT64_MAX;
    f->work += section->n;
    for (int i = 0; i < section->n; i++) {
        pl_block *b = pl_floors_left(f, section, i);
        if (b->low < section->floor) {
            if (b->fixed >= 0) return false;
            set(f, &b->low, pl_boxes_round(section->floor, b->align));
            for (int e = b->first; e < b->first + b->n; e++)
                pl_floors_touch(f, f->entry[e].section);
        }
        if (b->low > f->capacity - b->bytes) return false;
        if (b->low < lowest) lowest = b->low;
    }
    if (!section->n || f->off & PL_OFFSETS_INFERENCE) return true;
    if (lowest > section->floor) set(f, &section->floor, lowest);
    if (section->floor > f->capacity - section->rest) return false;
    return f->off & PL_OFFSETS_BUFFER_FLOORS || section->n > MOST_BUFFER_FLOORS ||
           find_top(f, section) <= f->capacity;
}

bool pl_floors_spread(pl_floors *f)
{
    bool ok = true;
    while (f->n_dirty) {
        pl_section *s = &f->section[f->dirty[--f->n_dirty]];
        s->is_dirty = false;
        ok = ok && spread_section(f, s);
    }
    return ok;
}
