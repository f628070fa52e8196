"""Containers and other runtimes: Apptainer, kernelspecs, image import."""
