"""Published figures, drawn again for any pair: recordings, prices and runs that figures share, and files of figures."""
