"""The same training steps under torch and under minitorch; ``python -m tests.benchmarks`` prints the table."""
