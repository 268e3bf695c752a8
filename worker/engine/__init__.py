"""Engine process: it runs models. It knows no database and no broker: orders come and reports go through a pipe."""
