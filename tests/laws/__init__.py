"""Laws for every format: these tests find each folder in `formats`."""
