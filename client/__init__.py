"""The command line of the Data Scientist Portal for users: `dsp`.

It needs nothing of the portal's or the spawner's packages, and runs wherever Python 3.10 does. Its
modules import each other relatively: in the checkout the package is `client`, in its wheel
`dsp_client`.
"""

__version__ = "0.1.0"
