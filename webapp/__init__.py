"""The service: accounts, registry, queue, comparisons, pages and API. It never loads torch nor imports `worker`."""
