"""`./drafthouse up`: one process in the foreground that starts everything, keeps it running and stops it all."""
