/* The extension module's side: answers the calls of the library with Python functions.
 *
 * Inputs become int, bytes (structures, arrays, strings) or None (a null pointer that may be one); a function returns its
 * outputs in C order: nothing, one, or a tuple; an int or float is a word, bytes are a structure or array. Outputs are written
 * only when all of them can be.
 */

static void *library;
static PyObject *functions; /* list: entry index → function(thread, *inputs) */
static PyObject *otherwise; /* function(ask, index, thread, fault): whatever is no ordinary call */
static PyObject *failed;    /* function(exception, index, thread): a status, (status, outputs), or (address, value,
                             * nanoseconds) to wait */

/* ---- one call ----------------------------------------------------------------------------------------------- */

static PyObject *to_python(const struct call *c, int k)
{
    const struct param *p = &c->entry->param[k];
    uint64_t word = c->word[k];
    switch (p->direction) {
    case TEXT: return word ? PyBytes_FromString((const char *)word) : Py_NewRef(Py_None);
    case IN: {
        uint64_t count = p->count < 0 ? 1 : c->word[p->count];
        return word ? PyBytes_FromStringAndSize((const char *)word, (Py_ssize_t)(count * p->size)) : Py_NewRef(Py_None);
    }
    case INOUT:
        if (!c->place[k] && p->optional) return Py_NewRef(Py_None);
        if (!p->size) return PyLong_FromUnsignedLongLong(word);
        return PyBytes_FromStringAndSize((const char *)word, (Py_ssize_t)((p->count < 0 ? 1 : c->word[p->count]) * p->size));
    default: return p->is_signed ? PyLong_FromLongLong((int64_t)word) : PyLong_FromUnsignedLongLong(word);
    }
}

/* Write one output, or (`dry`) only see whether it could be. */
static int from_python(const struct call *c, int k, PyObject *value, int dry)
{
    const struct param *p = &c->entry->param[k];
    void *place = (void *)c->place[k];
    if (PyBytes_Check(value) && p->size) {
        uint64_t room = (p->count < 0 ? 1 : c->word[p->count]) * p->size, size = (uint64_t)PyBytes_GET_SIZE(value);
        if (!dry && place) memcpy(place, PyBytes_AS_STRING(value), size < room ? size : room);
        return 0;
    }
    if (PyFloat_Check(value) && p->width == sizeof(float)) {
        float number = (float)PyFloat_AS_DOUBLE(value);
        if (!dry && place) memcpy(place, &number, sizeof number);
        return 0;
    }
    if (!PyLong_Check(value) || !p->width) return -1;
    uint64_t word = PyLong_AsUnsignedLongLongMask(value);
    if (!dry && place) memcpy(place, &word, p->width); /* little-endian, as both supported processors are */
    return 0;
}

/* `some`: outputs that are None are left alone; they belong to a refusal. */
static int give_outputs(const struct call *c, PyObject *result, int some)
{
    int outputs[MAX_PARAMS], n = 0;
    for (int k = 0; k < c->entry->params; k++)
        if (c->entry->param[k].direction >= OUT) outputs[n++] = k;
    if (!n) return 0;
    PyObject **values = &result;
    if (n > 1) {
        if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != n) goto wrong;
        values = &PyTuple_GET_ITEM(result, 0);
    }
    for (int dry = 1; dry >= 0; dry--)
        for (int j = 0; j < n; j++)
            if (!(some && values[j] == Py_None) && from_python(c, outputs[j], values[j], dry)) goto wrong;
    return 0;
wrong:
    PyErr_Format(PyExc_TypeError, "%s: %R cannot be its %d outputs", c->entry->symbol, result, n);
    return -1;
}

static int call_function(struct call *c)
{
    PyObject *arguments[MAX_PARAMS + 1], *result = NULL;
    int n = 0, status = -1;
    if (!(arguments[n++] = PyLong_FromUnsignedLongLong(c->thread))) return -1;
    for (int k = 0; k < c->entry->params; k++)
        if (c->entry->param[k].direction != OUT && !(arguments[n++] = to_python(c, k))) { n--; goto done; }
    result = PyObject_Vectorcall(PyList_GET_ITEM(functions, c->index), arguments, (size_t)n, NULL);
    if (result) status = give_outputs(c, result, 0);
    Py_XDECREF(result);
done:
    while (n) Py_DECREF(arguments[--n]);
    return status;
}

/* Turn what a Python function answered into a status; -2 when it raised. A pair is a status and outputs to be written in
 * spite of it. */
static int take_status(struct call *c, PyObject *answer)
{
    int status = -2;
    if (answer && PyTuple_Check(answer) && PyTuple_GET_SIZE(answer) == 2) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(answer, 0));
        if (!PyErr_Occurred() && !give_outputs(c, PyTuple_GET_ITEM(answer, 1), 1)) status = (int)number;
    } else if (answer && PyTuple_Check(answer)) {
        unsigned long long on, value, ns;
        if (PyArg_ParseTuple(answer, "KKK", &on, &value, &ns)) {
            c->wait_on = on, c->wait_value = value, c->wait_ns = ns;
            status = DOOR_WAIT;
        }
    } else if (answer) {
        long number = PyLong_AsLong(answer);
        if (!PyErr_Occurred()) status = (int)number;
    }
    Py_XDECREF(answer);
    return status;
}

static int explain_failure(struct call *c)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace) PyException_SetTraceback(value, trace);
    int status = take_status(c, PyObject_CallFunction(failed, "OiK", value, c->index, (unsigned long long)c->thread));
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return status;
}

/* ---- what signal handlers raise ------------------------------------------------------------------------------ */

/* An exception of a signal handler that ran inside a call. It cannot pass through the C frames of the bindings: it is kept,
 * and raised as soon as the interpreter runs again. Handlers run in the main thread only; so this is the main thread's. */
static __thread PyObject *raised;

static void keep(PyObject *exception)
{
    Py_XDECREF(raised);
    raised = exception;
}

/* For Python: an exception that left a handler of ours turned out to be a signal handler's. */
static void redeliver(uintptr_t exception) { keep(Py_NewRef((PyObject *)exception)); }

/* How deep this thread is in calls that Python answers. */
static __thread int answering;

/* Runs in the main thread at its next bytecode. That may be ours, when compiled code makes one call after the other (the
 * bindings look all functions up in a row): then the exception waits for the caller's. */
static int raise_again(void *unused)
{
    (void)unused;
    if (answering) return 0;
    PyObject *exception = raised;
    raised = NULL;
    if (!exception) return 0;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return -1;
}

/* Run the signal handlers that are due; 1 when one raised. */
static int run_signals(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int any = PyErr_CheckSignals() != 0;
    if (any) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        if (trace) PyException_SetTraceback(value, trace);
        Py_XDECREF(type);
        Py_XDECREF(trace);
        keep(value);
    }
    PyGILState_Release(state);
    return any;
}

/* The status of a call in which a signal handler raised. The exception is raised at the caller's next bytecode, which with
 * bindings that raise on a status is reached only when the status is 0. Nobody sees that 0: the exception comes first.
 * A call that came after it (`before`) has its own status. To be asked last: any Python code that runs between would
 * get the exception. */
static int raise_after_the_call(int status, int before)
{
    if (!raised || Py_AddPendingCall(raise_again, NULL)) return status;
    return before || status == DOOR_WAIT ? status : 0;
}

/* A look-up is done again after a signal handler raised in it: the bindings keep what it says for good. */
static int is_lookup(const struct call *c) { return !strncmp(c->entry->symbol, "cuGetProcAddress", 16); }

/* The call with a bad argument that this thread asks Python about: a trace shows what it was given. */
static __thread const struct call *bad_call;

static uint64_t given(int k)
{
    if (!bad_call || k < 0 || k >= bad_call->entry->params) return 0;
    return bad_call->entry->param[k].direction == SCALAR ? bad_call->word[k] : bad_call->given[k];
}

/* While a call is answered nothing is collected: destructors of garbage may call the driver, and would find this thread in
 * the middle of a change. Counted, since threads take turns in here; both change under the interpreter's lock only. */
static int inside, collects;

static void hold_collector(void)
{
    if (!inside++) collects = PyGC_Disable();
}

static void free_collector(void)
{
    if (!--inside && collects) PyGC_Enable();
}

/* Likewise for Python code of ours that no call asks for. */
static void hold_back_collector(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    hold_collector();
    PyGILState_Release(state);
}

static void let_collector_go(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    free_collector();
    PyGILState_Release(state);
}

/* In a forked child: the threads that were inside are gone. */
static void collect_again(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    if (inside && collects) PyGC_Enable();
    inside = 0;
    PyGILState_Release(state);
}

static int answer(struct call *c)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int status = -2, before = raised != NULL;
    answering++;
    hold_collector();
    bad_call = c->ask == ASK_FAULT ? c : NULL;
    if (c->ask == ASK_CALL) {
        do status = call_function(c) ? explain_failure(c) : 0;
        while (status == UNKNOWN && raised && !before && is_lookup(c) && (before = 1));
    } else {
        /* Before and after a watched call Python is asked whether something befalls it. */
        PyObject *said = PyObject_CallFunction(otherwise, "iiKi", (int)c->ask, c->index,
                                               (unsigned long long)c->thread, c->fault);
        status = said ? take_status(c, said) : explain_failure(c);
        if (c->ask == ASK_WATCHED && !status) {
            status = call_function(c) ? explain_failure(c) : 0;
            if (!status) {
                said = PyObject_CallFunction(otherwise, "iiKi", -1, c->index, (unsigned long long)c->thread, 0);
                Py_XDECREF(said);
            }
        }
    }
    if (status == -2 || PyErr_Occurred()) {
        PyErr_Print();
        status = 999;
    }
    free_collector();
    answering--;
    status = raise_after_the_call(status, before);
    PyGILState_Release(state);
    return status;
}

/* ---- attaching ---------------------------------------------------------------------------------------------- */

static int find_library(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    const char *name = strrchr(info->dlpi_name, '/');
    name = name ? name + 1 : info->dlpi_name;
    if (strncmp(name, DOOR_LIBRARY, sizeof DOOR_LIBRARY - 1)) return 0;
    *(const char **)found = info->dlpi_name;
    return 1;
}

/* The path of a library of this name that this process has loaded, or NULL. */
static const char *loaded_library(void)
{
    const char *found = NULL;
    dl_iterate_phdr(find_library, &found);
    return found;
}

/* The Python side of the service; the caller keeps the three objects alive. */
static void serve(uintptr_t function_list, uintptr_t on_other, uintptr_t on_failure)
{
    functions = (PyObject *)function_list;
    otherwise = (PyObject *)on_other;
    failed = (PyObject *)on_failure;
}

/* Load the library at `path` (or find it loaded) and put Python behind it. NULL, or what went wrong. */
static const char *attach(const char *path, uintptr_t faults, uint32_t calm)
{
    const struct door_callbacks ours = { DOOR_SHAPE, answer, run_signals, (const uint32_t *)faults, calm };
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) return dlerror();
    int (*put)(const struct door_callbacks *) = (int (*)(const struct door_callbacks *))dlsym(library, DOOR_EXPORTED "attach");
    if (!put) return "it is not cumulticast's " DOOR_LIBRARY ".1";
    return put(&ours) ? "it was built from other sources than this module; install cumulticast anew" : NULL;
}

static void call_plain(const char *name)
{
    void (*f)(void) = library ? (void (*)(void))dlsym(library, name) : NULL;
    if (f) f();
}

static void close_door(void) { call_plain(DOOR_EXPORTED "close"); }

static void forget(void) { call_plain(DOOR_EXPORTED "forget"); }

static void *entry(int index)
{
    void *(*f)(int) = library ? (void *(*)(int))dlsym(library, DOOR_EXPORTED "entry") : NULL;
    return f ? f(index) : NULL;
}
