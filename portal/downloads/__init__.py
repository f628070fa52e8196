"""Programs that users download from the portal, for their own computers."""
