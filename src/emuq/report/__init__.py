"""Reports: from the rows of a store to a ledger of claims, tables and figures. Nothing here trains."""
