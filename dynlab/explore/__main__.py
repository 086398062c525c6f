"""``python -m dynlab.explore`` builds the page anew, as it ships."""

from dynlab.explore.page import BUILT, build

if __name__ == "__main__":
    BUILT.write_text(build(), encoding="utf-8")
