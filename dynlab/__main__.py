"""``python -m dynlab`` is the command ``dynlab``."""

import pkgutil

if __name__ == "__main__":
    pkgutil.resolve_name("dynlab.cli.main:main")()
