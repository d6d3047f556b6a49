"""The parts of scaling.py: the table of measurements, the runs that fill it, its plots, and the model."""
