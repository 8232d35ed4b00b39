"""A trainer on a state folder, as a program of its own that can be killed:
`training_program.py STATE`.
"""

import sys
import time
from pathlib import Path

from tests.feedback.words import trainer

if __name__ == "__main__":
    one = trainer(Path(sys.argv[1]))
    print("ready", flush=True)
    while True:
        if not one.step():
            time.sleep(0.005)
