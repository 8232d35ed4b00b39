"""What people say of their mail: the doors where it comes in, and the process behind them."""
