"""Engine process: it runs models. It knows no database and no broker: orders come and replies go through a pipe."""
