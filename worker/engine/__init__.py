"""The process that runs models. It knows no database and no broker: orders come through a pipe, reports go back."""
