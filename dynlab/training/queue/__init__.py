"""The long trainings, one after the other, on one core, stopped and continued at any moment: ``make queue``.

What is trained is the table `QUEUE`; how, is `dynlab.training.train`'s matter. Everything is kept in one folder outside
of the work tree: ``runs/NAME``, a run as `train` leaves it; ``results/NAME.json``, the record of a finished one;
``spent.json`` and ``timed.json``, what they took and how long an iteration of each kind takes.
"""
