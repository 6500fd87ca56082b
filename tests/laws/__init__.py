"""What holds for every format: tests that find each folder in `formats`."""
