"""The event log table of NetIQ Identity Manager: what the laws need to know of it."""
