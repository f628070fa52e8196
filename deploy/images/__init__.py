"""Images for Apptainer, built from Debian's and PyPI's packages: see deploy/images/__main__.py."""
