"""SSD played out in time from recorded texts and measured prices. No model runs."""
