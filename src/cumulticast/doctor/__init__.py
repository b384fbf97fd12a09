"""Health: whether CUDA multicast can work on the machine at hand, and if not, why.

Every check is a small function that asks one thing and answers with a `Result`. They only query: no multicast object is
made on a real driver. What could crash or hang runs in a process of its own.
"""
