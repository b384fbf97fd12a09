"""The team: multicast memory for people, on any driver.

What lies where: ``devices.py``, ``resource.py`` what users may give for a device or a size, and what has to be closed;
``memory.py``, ``mapping.py`` physical memory and its addresses; ``multicast.py``, ``binding.py`` multicast objects and
what is bound to them; ``comm/`` how ranks talk: all-gathers with a time limit, and who failed.
"""
