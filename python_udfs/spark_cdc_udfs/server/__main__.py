"""`python -m spark_cdc_udfs.server` is `spark-cdc-server`."""

import sys

from spark_cdc_udfs.server import main

if __name__ == "__main__":
    sys.exit(main())
