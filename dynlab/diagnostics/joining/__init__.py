"""How the results of one diagnostic at several steps of a training become one."""
