"""The portal at scale: the group `load` of the benchmarks, run by `make load`.

Each measurement is made with a tenth of the amount and with all of it, to show the growth. A
failed request fails the run.
"""
