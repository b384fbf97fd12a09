/* The extension module's side: puts `dispatch` (a Python function) behind libcuda.so.1. */

static int32_t dispatch(int32_t, int32_t, uint64_t, const uint64_t *, const int64_t *, uint64_t *);

static void *library;

/* ---- signals while a call waits in C ------------------------------------------------------------------------ */

static PyObject *raised;

/* Runs in the main thread at its next bytecode. */
static int raise_again(void *unused)
{
    (void)unused;
    PyObject *exception = raised;
    raised = NULL;
    if (!exception) return 0;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return -1;
}

/* Run the signal handlers that are due. An exception of theirs cannot pass through the C frames of the bindings:
 * keep it, and raise it as soon as the interpreter runs again. */
static int32_t run_signals(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int32_t answer = 0;
    if (PyErr_CheckSignals()) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        if (trace) PyException_SetTraceback(value, trace);
        Py_XDECREF(type);
        Py_XDECREF(trace);
        Py_XDECREF(raised);
    raised = value;
        answer = Py_AddPendingCall(raise_again, NULL) ? -1 : 1;
    }
    PyGILState_Release(state);
    return answer;
}

/* ---- attaching ---------------------------------------------------------------------------------------------- */

static int find_libcuda(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    const char *name = strrchr(info->dlpi_name, '/');
    name = name ? name + 1 : info->dlpi_name;
    if (strncmp(name, "libcuda.so", 10)) return 0;
    *(const char **)found = info->dlpi_name;
    return 1;
}

/* The path of a libcuda that this process has loaded, or NULL. */
static const char *loaded_libcuda(void)
{
    const char *found = NULL;
    dl_iterate_phdr(find_libcuda, &found);
    return found;
}

/* Load the library at `path` (or find it loaded) and put the Python driver behind it. NULL, or what went wrong. */
static const char *attach(const char *path)
{
    static const struct door_callbacks ours = { dispatch, run_signals };
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) return dlerror();
    void (*put)(const struct door_callbacks *) = (void (*)(const struct door_callbacks *))dlsym(library, "cumulticast_attach");
    if (!put) return "it is not cumulticast's libcuda.so.1";
    put(&ours);
    return NULL;
}

static void call_plain(const char *name)
{
    void (*f)(void) = library ? (void (*)(void))dlsym(library, name) : NULL;
    if (f) f();
}

static void close_door(void) { call_plain("cumulticast_close"); }

static void forget(void) { call_plain("cumulticast_forget"); }

static void *entry(int index)
{
    void *(*f)(int) = library ? (void *(*)(int))dlsym(library, "cumulticast_entry") : NULL;
    return f ? f(index) : NULL;
}
