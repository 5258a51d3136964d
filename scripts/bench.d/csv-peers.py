"""csv-peers.py - csv.sh: reads a file of text as peers do, and prints milliseconds of the core.

    csv-peers.py csv|libsvm FILE
"""

import sys
import time

if sys.argv[1] == "csv":
    import pandas

    def read(path):
        return pandas.read_csv(path, engine="c")
else:
    import xgboost

    def read(path):
        return xgboost.DMatrix(path + "?format=libsvm", nthread=1, silent=True)


begin = time.process_time()
table = read(sys.argv[2])
print("%.3f" % ((time.process_time() - begin) * 1e3))
