#include "train/state.h"

#include "train/init.h"

bool pl_state_init(pl_exec *e, const pl_store *s, uint64_t seed, pl_err *err)
{
    for (int i = 0; i < s->n; i++)
        PL_TRY(pl_init_fill(&s->state[i], seed, pl_exec_state(e, i), err));
    return true;
}

static void compare(const pl_port *p, const pl_saved *t, pl_arena *tmp, pl_text *problems)
{
    const pl_value *v = p->value;
    if (t && t->type == v->type && pl_shape_same(&t->shape, &v->shape)) return;
    pl_text_add(problems, "%s'%s' is %s here, %s there", problems->n ? "; " : "", v->name,
                pl_shape_text(tmp, v->type, &v->shape),
                t ? pl_shape_text(tmp, t->type, &t->shape) : "missing");
}

bool pl_state_load(pl_exec *e, const pl_store *s, const pl_checkpoint *c, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("state load");
    pl_text problems = { .arena = tmp };
    for (int i = 0; i < s->n; i++) {
        const pl_saved *t = pl_checkpoint_find(c, s->state[i].value->name);
        compare(&s->state[i], t, tmp, &problems);
        if (!problems.n) pl_port_take(&s->state[i], t->data, pl_exec_state(e, i));
    }
    bool ok = !problems.n || pl_err_set(err, PL_EINPUT, "the checkpoint is of another model: %s",
                                        pl_text_get(&problems));
    pl_arena_free(tmp);
    return ok;
}

bool pl_state_save(pl_exec *e, const pl_store *s, const char *dir, const pl_manifest *m, int keep,
                   pl_err *err)
{
    pl_arena *tmp = pl_arena_new("state save");
    pl_saved *t = PL_NEW_N(tmp, pl_saved, s->n + 1);
    bool ok = true;
    for (int i = 0; i < s->n && ok; i++) {
        const pl_value *v = s->state[i].value;
        if (!pl_shape_same(&s->state[i].shape, &v->shape))
            ok = pl_err_set(err, PL_EUNSUPPORTED, "state '%s' is split over devices", v->name);
        t[i] = (pl_saved){ v->name, v->type, v->shape, pl_exec_state(e, i) };
    }
    ok = ok && pl_checkpoint_save(dir, m, s->n, t, keep, err);
    pl_arena_free(tmp);
    return ok;
}
