"""Programs that make files of this repository; `python -m scripts.world` needs the package."""
