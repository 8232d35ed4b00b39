"""All declarations of calls: who imports this has them in `oborona.desk.call.CALLS`."""
# ruff: noqa: F401 - importing declares

import oborona.desk.asks.charts
import oborona.desk.asks.doctor
import oborona.desk.asks.overview
import oborona.desk.asks.status
