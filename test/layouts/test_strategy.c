/* Strategies: the words, and to the element what one layer moves under each: volumes of Y = X W
 * with both gradients, M = 24, K = 16, N = 32. */
#include "layouts/list.h"
#include "support/presets.h"

/* -- words ------------------------------------------------------------------------------------- */

static const char *const kinds[] = { [PL_BUFFER] = "buffer",
                                     [PL_WEIGHT] = "weight",
                                     [PL_MOMENT] = "moment",
                                     [PL_MASTER] = "master",
                                     [PL_GRAD_SUM] = "gradient sum" };

static void test_parse(void **state)
{
    static const struct {
        const char *text;
        int n;
        const char *mesh, *rest; /* axes; states over data too, of this kind first */
    } cases[] = {
        { "dp", 4, "data=4", "" },
        { "dp=1", 1, "data=1", "" },
        { "zero=1", 4, "data=4", "moment, master" },
        { "zero=2", 4, "data=4", "moment, master, gradient sum" },
        { "zero=3", 4, "data=4", "weight, moment, master, gradient sum" },
        { "hsdp=4", 8, "data=2 shard=4", "weight, moment, master, gradient sum" },
        { "hsdp=4,zero=3,dp=2", 8, "data=2 shard=4", "weight, moment, master, gradient sum" },
        { "hpz=4", 8, "data=2 shard=4",
          "weight twice, moment twice, master twice, gradient sum twice" },
        { "ddp", 8, "data=8", "" },
        { "fsdp", 8, "data=8", "weight, moment, master, gradient sum" },
        { "fsdp=4", 8, "data=2 shard=4", "weight, moment, master, gradient sum" },
        { " tp=4 , dp=2", 8, "data=2 tensor=4", "" },
        { "tp=4,dp=2", 8, "data=2 tensor=4", "" },
        { "sp,tp=4", 4, "tensor=4", "" },
        { "tp=2d:2x2", 8, "data=2 row=2 column=2", "" },
        { "tp=2.5d:2x2x3", 12, "depth=3 row=2 column=2", "" },
        { "tp=3d:2x2x2", 8, "i=2 j=2 l=2", "" },
        { "grid:2x4x1", 8, "i=2 j=4", "" },
        { "ep=2,tp=2", 8, "data=2 expert=2 tensor=2", "" },
        { "tp=2,spatial=4", 16, "data=2 spatial=4 tensor=2", "" },
        { "cp=4", 8, "data=2 context=4", "" },
        { "cp=gather:4,tp=2,sp", 8, "context=4 tensor=2", "" },
        { "zero=1,cp=ulysses:2", 8, "data=4 context=2", "moment twice, master twice" },
        { "zero=3,cp=4", 4, "context=4", "weight, moment, master, gradient sum" },
        { "zero=3,cp=2", 4, "data=2 context=2",
          "weight twice, moment twice, master twice, gradient sum twice" },
        { "hsdp=2,cp=2", 8, "data=2 shard=2 context=2",
          "weight twice, moment twice, master twice, gradient sum twice" },
        { "tp=2.5d:2x2x2,spatial=2", 16, "spatial=2 depth=2 row=2 column=2", "" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_strategy s = parse(cases[i].text, cases[i].n, a);
        pl_text mesh = { .arena = a }, rest = { .arena = a };
        for (int k = 0; k < s.mesh.n; k++)
            pl_text_add(&mesh, k ? " %s=%d" : "%s=%d", s.mesh.axis[k].name, s.mesh.axis[k].size);
        for (int kind = PL_BUFFER; kind <= PL_GRAD_SUM; kind++) {
            pl_rest r = pl_layout_zero.rest(&s, (pl_state_kind)kind);
            if (r.n)
                pl_text_add(&rest, "%s%s%s", rest.n ? ", " : "", kinds[kind],
                            r.n > 1 ? " twice" : "");
        }
        EXPECT(!strcmp(pl_text_get(&mesh), cases[i].mesh), "%s: mesh %s", s.text,
               pl_text_get(&mesh));
        EXPECT(!strcmp(pl_text_get(&rest), cases[i].rest), "%s: states at rest: %s", s.text,
               pl_text_get(&rest));
        EXPECT(!strcmp(s.text, cases[i].text), "%s", s.text);
        pl_arena_free(a);
    }
}

/* Long, as it is a table. */
static void test_parse_errors(void **state)
{
    static const struct {
        const char *text;
        int n;
        pl_code code;
        const char *says;
    } cases[] = {
        { "", 2, PL_EUSAGE, "'' is not one of its words" },
        { "dpp", 2, PL_EUSAGE, "'dpp' is not one of its words (did you mean 'dp'?" },
        { "pp=2", 4, PL_EUSAGE, "say micro=N too" },
        { "tp=2,pp=2,micro=2,schedule=no", 4, PL_EUSAGE, "no" },
        { "schedule=1f1b", 4, PL_EUSAGE, "say pp=N too" },
        { "ring=4", 4, PL_EUNSUPPORTED, "'ring=4': the word is cp=gather:N" },
        { "checkpoint", 4, PL_EUNSUPPORTED, "the word is recompute=full" },
        { "dp,recompute=full,recompute=2", 4, PL_EUSAGE, "'recompute=2' after another recompute" },
        { "recompute=0", 4, PL_EUSAGE, "'recompute=0' is not" },
        { "offload", 4, PL_EUNSUPPORTED, "the words are offload=optimizer, =weights" },
        { "offload=disk", 4, PL_EUNSUPPORTED, "'offload=disk': the words are" },
        { "offload=all,offload=all", 4, PL_EUSAGE, "'offload=all' after another offload=all" },
        { "micro=0", 4, PL_EUSAGE, "'micro=0' is not" },
        { "micro=2,dp,micro=4", 4, PL_EUSAGE, "'micro=4' after another micro" },
        { "auto,dp", 4, PL_EUSAGE, "auto stands alone, with micro=N, or" },
        { "auto,micro=2,dp", 4, PL_EUSAGE, "and 'dp' is none of them" },
        { "pp=2,micro=4,tp=2,auto", 4, PL_EUSAGE, "and 'tp=N' is none of them" },
        { "pp=3,micro=4,auto", 4, PL_EUSAGE, "4 devices cannot be divided by pp=3" },
        { "pp=2,auto", 4, PL_EUSAGE, "say micro=N too" },
        { "schedule=zbv,auto", 4, PL_EUSAGE, "a schedule needs stages" },
        { "fsdp,zero=3", 4, PL_EUSAGE, "'zero=3' after another zero" },
        { "fsdp=2,zero=1", 4, PL_EUSAGE, "leave zero=1 out" },
        { "dp,", 2, PL_EUSAGE, "'' is not" },
        { "tp=0", 2, PL_EUSAGE, "'tp=0' is not" },
        { "tp=2x2", 4, PL_EUSAGE, "'tp=2x2' is not" },
        { "tp=2d:2", 4, PL_EUSAGE, "'tp=2d:2' is not" },
        { "tp=3d:2x2x2x2", 16, PL_EUSAGE, "'tp=3d:2x2x2x2' is not" },
        { "grid:2x-1x1", 4, PL_EUSAGE, "'grid:2x-1x1' is not" },
        { "dp=99999999999", 4, PL_EUSAGE, "'dp=99999999999' is not" },
        { "zero=4", 4, PL_EUSAGE, "'zero=4': there are zero=1, 2 and 3" },
        { "tp=2,dp,tp=2", 4, PL_EUSAGE, "'tp=2' after another tp or grid" },
        { "tp=2,grid:2x1x1", 4, PL_EUSAGE, "'grid:2x1x1' after another tp or grid" },
        { "dp,dp=2", 4, PL_EUSAGE, "'dp=2' after another dp" },
        { "tp=2d:2x3", 6, PL_EUSAGE, "its sides have to be equal (grid:AxBxC takes any)" },
        { "tp=3d:2x2x3", 12, PL_EUSAGE, "its sides have to be equal" },
        { "dp=2,tp=4", 6, PL_EUSAGE, "takes dp=2 x tp=4 = 8 devices, and there are 6" },
        { "dp=2,tp=2", 8, PL_EUSAGE, "takes dp=2 x tp=2 = 4 devices, and there are 8" },
        { "tp=4", 6, PL_EUSAGE, "6 devices cannot be divided by tp=4" },
        { "tp=2,ep=2", 6, PL_EUSAGE, "6 devices cannot be divided by ep=2 x tp=2 = 4" },
        { "tp=4", 1, PL_EUSAGE, "devices, and there is 1" },
        { "ep=2,hsdp=2,grid:2x3x1", 8, PL_EUSAGE,
          "takes hsdp=2 x ep=2 x A=2 x B=3 = 24 devices, and there are 8" },
        { "grid:1000000x1000000x1000000", 8, PL_EUSAGE, "and there are 8" },
        { "sp", 4, PL_EUSAGE, "sp splits activations over the devices of tp=N" },
        { "sp,tp=2d:2x2", 4, PL_EUSAGE, "there are none: add e.g. tp=2" },
        { "hsdp=2,zero=1", 4, PL_EUSAGE, "leave zero=1 out" },
        { "zero=3,tp=4", 4, PL_EUSAGE,
          "zero=3 splits over dp and cp, and of the 4 devices none are left" },
        { "dp", 0, PL_EUSAGE, "for 0 devices" },
        { "recompute=stages:3", 4, PL_EUSAGE, "is of pipelines: say pp=N too, or recompute=N" },
        { "pp=2,micro=4,recompute=stages:3-", 4, PL_EUSAGE, "no list of numbers of blocks" },
        { "pp=2,micro=4,recompute=stages:3-x", 4, PL_EUSAGE, "no list of numbers of blocks" },
        { "pp=2,micro=4,recompute=stages:9999999", 4, PL_EUSAGE, "no list of numbers of blocks" },
        { "pp=2,micro=4,recompute=stages:3-2-1", 4, PL_EUSAGE,
          "has 3 numbers, and the pipeline 2 devices" },
        { "hpz=2,ep=2,spatial=2,tp=2.5d:2x2x2", 128, PL_EUSAGE,
          "on 128 devices has 7 axes (dp=2 among them), and a mesh has at most 6" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_strategy s;
        pl_err err = { 0 };
        EXPECT(!pl_strategy_parse(cases[i].text, cases[i].n, a, &s, &err), "'%s' is taken",
               cases[i].text);
        EXPECT(err.code == cases[i].code && strstr(err.msg, cases[i].says), "'%s': %d, %s",
               cases[i].text, (int)err.code, err.msg);
        pl_arena_free(a);
    }
}

static void test_all(void **state)
{
    (void)state;
    for (int n = 1; n <= 16; n++) {
        pl_arena *a = pl_arena_new("test");
        const char *text[100];
        const unsigned has = PL_HAS_EXPERTS | PL_HAS_POSITIONS | PL_HAS_TABLES | PL_HAS_STACKS;
        int count = pl_strategy_all(n, has, a, 100, text);
        EXPECT(count > 0 && count < 100 && pl_strategy_all(n, has, a, 1, text) == 1, "%d", count);
        count = pl_strategy_all(n, has, a, 100, text);
        for (int i = 0; i < count; i++) {
            parse(text[i], n, a);
            for (int k = 0; k < i; k++) EXPECT(strcmp(text[i], text[k]), "'%s' twice", text[i]);
        }
        pl_arena_free(a);
    }
}

/* -- volumes of one layer ---------------------------------------------------------------------- */

/* Y = X W and both gradients, and sgd. X, dY, Y, dX are states, so that they stand where a scheme
 * has them; "rows" is there to be split. */
static const pl_graph *make_layer(pl_arena *a)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "layer");
    pl_value *x = pl_add_state(&b, "x", PL_F32, PL_SHAPE(24, 16), "zeros", PL_BUFFER);
    pl_value *dy = pl_add_state(&b, "dy", PL_F32, PL_SHAPE(24, 32), "zeros", PL_BUFFER);
    pl_value *kept_y = pl_add_state(&b, "y", PL_F32, PL_SHAPE(24, 32), "zeros", PL_BUFFER);
    pl_value *kept_dx = pl_add_state(&b, "dx", PL_F32, PL_SHAPE(24, 16), "zeros", PL_BUFFER);
    pl_value *w = weight(&b, "w", PL_SHAPE(16, 32));
    pl_value *u = pl_add_state_of(&b, w, PL_MOMENT, "w.u", "zeros");
    pl_value *lr = pl_add_input(&b, "lr", PL_F32, PL_SCALAR);
    pl_value *one = pl_add_value(&b, &pl_op_fill, "one", "->; value=1", 0, NULL);
    pl_add_input(&b, "rows", PL_F32, PL_SHAPE(24));
    kept_y->next = PL_ADD_AS(&b, &pl_op_einsum, "fwd", "mk,kn->mn", x, w);
    b.of = kept_y->next->maker;
    kept_dx->next = PL_ADD_AS(&b, &pl_op_einsum, "back_x", "mn,kn->mk", dy, w);
    pl_value *dw = PL_ADD_AS(&b, &pl_op_einsum, "back_w", "mk,mn->kn", x, dy);
    b.of = NULL, b.phase = PL_UPDATE;
    pl_value *const in[] = { w, dw, u, lr, one };
    pl_node *sgd = pl_add_node(&b, &pl_op_sgd, "update", "; momentum=0.9", 5, in);
    if (sgd) w->next = sgd->out[0], u->next = sgd->out[1];
    return graph_done(&b);
}

/* A plan that says where x, y, dy and dx are stored. */
static const pl_plan *store_activations(const char *text, int n, const char *const at[4],
                                        pl_arena *a)
{
    static const char *const name[] = { "x", "y", "dy", "dx" };
    pl_builder b = pl_builder_new(a, &pl_ops_all, "activations");
    pl_strategy s = parse(text, n, a);
    for (int i = 0; i < 4; i++)
        pl_add_state(&b, name[i], PL_F32, i % 3 ? PL_SHAPE(24, 32) : PL_SHAPE(24, 16), "zeros",
                     PL_BUFFER);
    const pl_graph *g = graph_done(&b);
    pl_plan *p = pl_plan_single(g, a);
    p->mesh = s.mesh;
    for (int i = 0; i < 4; i++) {
        pl_err err = { 0 };
        EXPECT(pl_placement_parse(at[i], &p->mesh, &p->stored[pl_graph_find(g, name[i])->id], &err),
               "%s", err.msg);
    }
    return p;
}

typedef struct scheme {
    const char *name, *text;
    int n;
    const char *x, *w, *y, *dx; /* dy lies as y */
    const char *choice;         /* of the forward node */
    double kept, again;         /* elements; again: X and W are gathered twice; 0: as `kept` */
} scheme;

static const scheme schemes[] = {
    { "1-D column", "tp=4", 4, "[;]", "[;tensor]", "[;tensor]", "[;]", "tensor=n", 576, 0 },
    { "1-D row", "tp=4", 4, "[;tensor]", "[tensor;]", "[;]", "[;tensor]", "tensor=k", 1152, 0 },
    { "SP column", "tp=4,sp", 4, "[tensor;]", "[;tensor]", "[;tensor]", "[tensor;]", "tensor=n",
      576, 864 },
    { "SP row", "tp=4,sp", 4, "[;tensor]", "[tensor;]", "[tensor;]", "[;tensor]", "tensor=k", 1152,
      0 },
    { "2-D q=2", "tp=2d:2x2", 4, "[row;column]", "[row;column]", "[row;column]", "[row;column]",
      "row=m column=n", 448, 672 },
    { "2-D q=4", "tp=2d:4x4", 16, "[row;column]", "[row;column]", "[row;column]", "[row;column]",
      "row=m column=n", 336, 504 },
    { "2.5-D (2,2)", "tp=2.5d:2x2x2", 8, "[depth,row;column]", "[row;column]", "[depth,row;column]",
      "[depth,row;column]", "depth=m row=m column=n", 480, 656 },
    { "2.5-D (2,3)", "tp=2.5d:2x2x3", 12, "[depth,row;column]", "[row;column]",
      "[depth,row;column]", "[depth,row;column]", "depth=m row=m column=n", 320 + 512. / 3,
      480 + 512. / 3 },
    { "2.5-D (4,2)", "tp=2.5d:4x4x2", 32, "[depth,row;column]", "[row;column]",
      "[depth,row;column]", "[depth,row;column]", "depth=m row=m column=n", 296, 428 },
    { "3-D q=2", "tp=3d:2x2x2", 8, "[i,j;l]", "[l,i;j]", "[i,l;j]", "[i,j;l]", "i=m j=n l=k", 416,
      528 },
    { "grid 2x4x2", "grid:2x4x2", 16, "[i,j;l]", "[l,i;j]", "[i,l;j]", "[i,j;l]", "i=m j=n l=k",
      304, 408 },
    { "grid, other turn", "grid:2x2x4", 16, "[i,l;j]", "[j,i;l]", "[i,j;l]", "[i,l;j]",
      "i=m j=k l=n", 304, 408 },
    { "FSDP", "zero=3", 4, "[data;]", "[data;]", "[data;]", "[data;]", "data=m", 768, 1152 },
    { "DDP", "dp", 4, "[data;]", "[;]", "[data;]", "[data;]", "data=m", 768, 0 },
    { "HSDP", "hsdp=4", 8, "[data,shard;]", "[shard;]", "[data,shard;]", "[data,shard;]",
      "data=m shard=m", 896, 1280 },
    { "ZeRO-1", "zero=1", 4, "[data;]", "[;]", "[data;]", "[data;]", "data=m", 768, 0 },
    { "ZeRO-2", "zero=2", 4, "[data;]", "[;]", "[data;]", "[data;]", "data=m", 768, 0 },
    { "FSDP x TP", "zero=3,tp=2", 4, "[data;]", "[data;tensor]", "[data;tensor]", "[data;]",
      "data=m tensor=n", 448, 576 },
    { "grid = FSDP", "grid:4x1x1", 4, "[i;]", "[i;]", "[i;]", "[i;]", "i=m", 768, 1152 },
};

static pl_plan *plan_layer(const scheme *s, pl_arena *a)
{
    const char *const at[] = { s->x, s->y, s->y, s->dx };
    return plan(make_layer(a), s->text, s->n, store_activations(s->text, s->n, at, a), a);
}

static void test_volumes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        const scheme *s = &schemes[i];
        pl_arena *a = pl_arena_new("test");
        pl_plan *p = plan_layer(s, a);
        const char *w = stored_text(p, "w", a), *choice = choice_text(p, "fwd", a);
        EXPECT(!strcmp(w, s->w), "%s: w is stored at %s", s->name, w);
        EXPECT(!strcmp(choice, s->choice), "%s: the choice is %s", s->name, choice);
        for (int again = 0; again < 2; again++) {
            for (const char *name = "xw"; *name; name++) {
                const pl_value *v = pl_graph_find(p->graph, (char[]){ *name, 0 });
                p->kept[v->id] = NULL;
                if (again) pl_plan_keep(p, v, UINT8_MAX, a);
            }
            double got = find_volume(p, a).elements;
            double want = again && s->again > 0 ? s->again : s->kept;
            EXPECT(fabs(got - want) < 1e-6, "%s%s: %.2f elements, not %.2f", s->name,
                   again ? ", gathered twice" : "", got, want);
        }
        pl_arena_free(a);
    }
}

/* ZeRO++: the slow axis is gathered over once, for the forward pass, and of the gradients' volume
 * only the last step goes over it. */
static void test_hpz(void **state)
{
    static const scheme hpz = { "hpZ",
                                "hpz=4",
                                8,
                                "[data,shard;]",
                                "[shard,data;]",
                                "[data,shard;]",
                                "[data,shard;]",
                                "data=m shard=m",
                                0,
                                0 };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_plan *p = plan_layer(&hpz, a);
    volume v = find_volume(p, a);
    double slow = 0;
    for (int i = 0; i < v.n; i++)
        for (int k = 0; k < v.at[i].path.n; k++) {
            const pl_move *m = &v.at[i].path.move[k];
            if (m->axes == 1u << pl_mesh_find(&p->mesh, "data"))
                slow += move_elements(m, &p->mesh, v.at[i].value->type);
        }
    EXPECT(!strcmp(stored_text(p, "w", a), hpz.w), "w is stored at %s", stored_text(p, "w", a));
    EXPECT(v.elements == 1280 && slow == 128, "%.1f elements, %.1f over the slow axis", v.elements,
           slow);
    pl_arena_free(a);
}

/* What is gathered again without being told. */
static void test_regather(void **state)
{
    static const struct {
        const char *scheme;
        bool x, w;
    } cases[] = {
        { "1-D column", false, false }, { "SP column", true, false },  { "SP row", false, false },
        { "2-D q=2", true, true },      { "2.5-D (2,2)", true, true }, { "3-D q=2", false, false },
        { "FSDP", false, true },        { "HSDP", false, true },       { "ZeRO-1", false, false },
        { "FSDP x TP", false, true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const scheme *s = schemes;
        while (strcmp(s->name, cases[i].scheme)) s++;
        const pl_plan *p = plan_layer(s, a);
        bool x = p->kept[pl_graph_find(p->graph, "x")->id];
        bool w = p->kept[pl_graph_find(p->graph, "w")->id];
        EXPECT(x == cases[i].x && w == cases[i].w, "%s: x %d, w %d", s->name, x, w);
        pl_arena_free(a);
    }
}

/* Colossal-AI's documented volume of 2.5-D lacks the all-reduce of the weights' gradient over
 * depth, 2 (d - 1) / d KN / q^2 elements. */
static void test_depth(void **state)
{
    static const int cases[][2] = { { 2, 2 }, { 2, 3 }, { 4, 2 } };
    (void)state;
    for (int i = 0; i < 3; i++) {
        pl_arena *a = pl_arena_new("test");
        int q = cases[i][0], d = cases[i][1];
        const scheme *s = schemes;
        while (strcmp(s->name, pl_arena_fmt(a, "2.5-D (%d,%d)", q, d))) s++;
        double documented = 3. * (q - 1) / (q * q) * (24. * 16 / d + 16. * 32);
        double depth = 2. * (d - 1) / d * 16 * 32 / (q * q);
        double got = find_volume(plan_layer(s, a), a).elements;
        EXPECT(got > documented && fabs(got - documented - depth) < 1e-6,
               "(%d,%d): %.2f, documented %.2f", q, d, got, documented);
        pl_arena_free(a);
    }
}

/* Experts E=4, slots C=8, H=O=4 on 4 devices: two exchanges of 24 elements. */
static void test_experts_volume(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "experts");
    pl_value *x = pl_add_state(&b, "x", PL_F32, PL_SHAPE(4, 8, 4), "zeros", PL_BUFFER);
    pl_value *y = pl_add_state(&b, "y", PL_F32, PL_SHAPE(4, 8, 4), "zeros", PL_BUFFER);
    pl_value *w = weight(&b, "w", PL_SHAPE(4, 4, 4));
    (void)state;
    pl_add_input(&b, "rows", PL_F32, PL_SHAPE(8));
    y->next = PL_ADD_AS(&b, &pl_op_einsum, "fwd", "ech,eho->eco", x, w);
    const pl_graph *g = graph_done(&b);
    b = pl_builder_new(a, &pl_ops_all, "like");
    pl_add_state(&b, "x", PL_F32, PL_SHAPE(4, 8, 4), "zeros", PL_BUFFER);
    pl_add_state(&b, "y", PL_F32, PL_SHAPE(4, 8, 4), "zeros", PL_BUFFER);
    pl_plan *like = pl_plan_single(graph_done(&b), a);
    pl_strategy s = parse("ep=4", 4, a);
    like->mesh = s.mesh;
    for (int i = 0; i < 2; i++) pl_placement_split(&like->stored[i], 1, 0);
    const pl_plan *p = plan(g, "ep=4", 4, like, a);
    volume v = find_volume(p, a);
    assert_string_equal(choice_text(p, "fwd", a), "expert=e");
    assert_string_equal(stored_text(p, "w", a), "[expert;;]");
    EXPECT(fabs(v.elements - 48) < 1e-6, "%.2f elements", v.elements);
    assert_int_equal(v.n, 2);
    pl_arena_free(a);
}

/* -- refusals ---------------------------------------------------------------------------------- */

static void test_refusals(void **state)
{
    static const struct {
        const char *spec, *text;
        int n;
        const char *says;
    } cases[] = {
        { "mlp:in=4,hidden=6,classes=3", "tp=8", 8,
          "no linear layer can be split over the 8 devices of axis 'tensor' (the widest that was "
          "offered is 6, of 'layers.0.weight')" },
        { "mlp:in=4,hidden=6,classes=3", "grid:1x1x16", 16, "16 devices of axis 'l'" },
        { "mlp", "ep=2", 2,
          "the graph has no experts with slots to split over the 2 devices of axis 'expert'" },
        { "moe:experts=2,layers=1", "ep=4", 4, "(the widest that was offered is 2," },
        { "mlp", "cp=2", 2, "the graph has no sequences whose positions 2 devices could share" },
        { "gpt2:layers=1,seq=4", "cp=8", 8, "8 devices could share (the longest has 4)" },
        { "mlp", "spatial=2", 2, "the graph has no images whose rows 2 devices could share" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_strategy s = parse(cases[i].text, cases[i].n, a);
        pl_plan *p;
        pl_err err = { 0 };
        EXPECT(!pl_strategy_plan(&s, make_model(cases[i].spec, PL_TRAIN, a), NULL, a, &p, &err),
               "%s on %s is taken", cases[i].text, cases[i].spec);
        EXPECT(err.code == PL_EINPUT && strstr(err.msg, cases[i].says), "%s", err.msg);
        pl_arena_free(a);
    }
    pl_arena *a = pl_arena_new("test");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "scalars");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SCALAR);
    pl_add_output(&b, "y", PL_ADD(&b, &pl_op_scale, "; value=2", x));
    const pl_graph *g = graph_done(&b);
    static const char *const says[][2] = { { "dp", "no input whose rows 2 devices could share" },
                                           { "tp=2", "no linear layer to split over the 2" } };
    for (int i = 0; i < 2; i++) {
        pl_strategy s = parse(says[i][0], 2, a);
        pl_plan *p;
        pl_err err = { 0 };
        EXPECT(!pl_strategy_plan(&s, g, NULL, a, &p, &err), "%s is taken", says[i][0]);
        EXPECT(err.code == PL_EINPUT && strstr(err.msg, says[i][1]), "%s", err.msg);
    }
    pl_arena_free(a);
}

/* The rows of the image, and with them those of all that the forward pass makes of it: each window
 * is split by its positions, and nobody receives more than rows of borders and sums of channels. */
static void test_rows(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        make_model("resnet18:stages=2,blocks=1,width=8,size=64,classes=4,batch=4", PL_TRAIN, a);
    const pl_plan *p = plan(g, "spatial=2", 2, NULL, a);
    int windows = 0;
    for (int i = 0; i < g->nodes.n && !g->nodes.at[i]->of; i++) {
        const pl_node *n = g->nodes.at[i];
        if (!n->sig->n_windows) continue;
        assert_int_equal(p->choice[i].factor[0], n->sig->window[0].position);
        windows++;
    }
    assert_int_equal(windows, 7);
    volume v = find_volume(p, a);
    assert_int_equal(count_moves(&v, PL_ALL_GATHER, 1, 3, false), 0);
    assert_int_equal(count_moves(&v, PL_ALL_TO_ALL, 1, 3, false), 0);
    assert_int_equal(count_moves(&v, PL_HALO, 1, 3, false),
                     6); /* 1x1: none, though it is strided */
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),    cmocka_unit_test(test_parse_errors),
        cmocka_unit_test(test_all),      cmocka_unit_test(test_volumes),
        cmocka_unit_test(test_regather), cmocka_unit_test(test_hpz),
        cmocka_unit_test(test_depth),    cmocka_unit_test(test_experts_volume),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
