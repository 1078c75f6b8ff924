"""The live page: watch an agent learn and steer it, in a browser on the same machine.

Learning has a thread of its own (`learner`), which applies what the page asks for between two steps and lets
itself be sampled (`samples`); the server has another (`server`), behind a guard of three checks (`guard`).
`page` puts them together: `emuq.live(agent)`.
"""
