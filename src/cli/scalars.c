/* What is there is never replaced: it is what is left of a run when its terminal is closed. A table
 * goes on; each run has an event file of its own. */
#include "cli/scalars.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const char header[] = "step,loss,lr,grad_norm,tokens,seconds,validation_loss\n";

/* `file` is open for reading, at its beginning; *whole: its last line has its end. */
static bool is_table(FILE *file, bool *whole)
{
    char text[sizeof header] = "";
    bool same = fread(text, 1, sizeof header - 1, file) == sizeof header - 1;
    *whole = !fseek(file, -1, SEEK_END) && fgetc(file) == '\n';
    return same && !strcmp(text, header);
}

static bool check_old(const char *path, bool resume, FILE *old, bool *whole, pl_err *err)
{
    if (!resume)
        return pl_err_set(err, PL_EINPUT,
                          "%s is there already: only --resume adds to it; give --log another name, "
                          "or remove it",
                          path);
    return is_table(old, whole) ||
           pl_err_set(err, PL_EINPUT, "%s is not a table that --log made: give --log another name",
                      path);
}

static bool check_table(const char *path, bool resume, pl_err *err)
{
    FILE *old = fopen(path, "r");
    bool whole;
    if (!old) return true;
    bool ok = check_old(path, resume, old, &whole, err);
    fclose(old);
    return ok;
}

bool pl_scalars_check(const pl_scalars_options *o, bool resume, pl_err *err)
{
    return (!o->log || check_table(o->log, resume, err)) &&
           (!o->tensorboard || pl_events_check(o->tensorboard, err));
}

static bool open_table(const char *path, bool resume, pl_scalars *out, pl_err *err)
{
    bool whole = true;
    FILE *f = fopen(path, "wx");
    bool fresh = f != NULL;
    if (!f && errno == EEXIST) f = fopen(path, "r+");
    if (!f) return pl_err_set(err, PL_EINPUT, "--log %s: cannot write: %s", path, strerror(errno));
    out->file = f;
    out->path = path;
    if (fresh) {
        fputs(header, f);
    } else if (!check_old(path, resume, f, &whole, err) || fseek(f, 0, SEEK_END)) {
        pl_scalars_close(out);
        return err->code == PL_OK && pl_err_set(err, PL_EINPUT, "--log %s: not a plain file", path);
    }
    if (!whole) fputc('\n', f); /* a row that a killed run left half-written */
    fflush(f);
    return true;
}

bool pl_scalars_open(const pl_scalars_options *o, bool resume, pl_arena *a, pl_scalars *out,
                     pl_err *err)
{
    *out = (pl_scalars){ 0 };
    if (o->log) PL_TRY(open_table(o->log, resume, out, err));
    return !o->tensorboard || pl_events_open(o->tensorboard, resume, a, &out->events, err);
}

void pl_scalars_close(pl_scalars *s)
{
    if (s->file) fclose(s->file);
    s->file = NULL;
    pl_events_close(&s->events);
}

static void put(const pl_scalars *s, double x)
{
    fputc(',', s->file);
    if (isnan(x))
        fputs("nan", s->file);
    else
        fprintf(s->file, "%.9g", x);
}

static void end_row(pl_scalars *s)
{
    fputc('\n', s->file);
    if (!fflush(s->file) || s->failed) return;
    fprintf(stderr, "%s: cannot write: %s; the run goes on\n", s->path, strerror(errno));
    s->failed = true;
}

static void add_row(pl_scalars *s, const pl_train_event *e)
{
    fprintf(s->file, "%lld", (long long)e->step);
    put(s, e->loss);
    put(s, e->lr);
    if (e->grad_norm < 0)
        fputc(',', s->file);
    else
        put(s, e->grad_norm);
    fprintf(s->file, ",%lld,%.6f,", (long long)e->tokens, e->seconds);
    end_row(s);
}

static void add_event(pl_scalars *s, const pl_train_event *e)
{
    pl_events_value value[4] = { { "train/loss", e->loss }, { "train/lr", e->lr } };
    int n = 2;
    if (!(e->grad_norm < 0)) value[n++] = (pl_events_value){ "train/grad_norm", e->grad_norm };
    if (e->seconds > 0)
        value[n++] = (pl_events_value){ "train/tokens_per_second", (double)e->tokens / e->seconds };
    pl_events_add(&s->events, e->step, n, value);
}

void pl_scalars_step(pl_scalars *s, const pl_train_event *e)
{
    if (s->file) add_row(s, e);
    if (s->events.path) add_event(s, e);
}

void pl_scalars_validation(pl_scalars *s, const pl_train_event *e)
{
    char tag[PL_N_SHARES][40];
    pl_events_value value[2 + PL_N_SHARES] = { { "validation/loss", e->loss } };
    int n = 1;
    if (e->auc >= 0) value[n++] = (pl_events_value){ "validation/auc", e->auc };
    for (int k = 0; k < PL_N_SHARES; k++) {
        if (e->share[k] < 0) continue;
        snprintf(tag[k], sizeof tag[k], "validation/%s", pl_train_share_names[k]);
        value[n++] = (pl_events_value){ tag[k], e->share[k] };
    }
    if (s->events.path) pl_events_add(&s->events, e->step, n, value);
    if (!s->file) return;
    fprintf(s->file, "%lld,,,,,", (long long)e->step);
    put(s, e->loss);
    end_row(s);
}
