"""A recorded history through the live core again, under other configurations; see docs/history.md.

A replay is a pure function of a folder, a configuration and its settings (run.py): it can run in any process.
"""
