"""A server that refuses earlier leaders, and a client that names its fence.

    python3 fenced_http.py serve 8080
    tenure run --election pump … -- python3 fenced_http.py post http://localhost:8080/ on
"""

import http.server
import os
import sys
import threading
import urllib.request

HEADER = "Tenure-Fence"


class Gate(http.server.BaseHTTPRequestHandler):
    # Store `newest` as durably as the data: a server that forgets the fence admits an earlier
    # leader.
    newest, lock = 0, threading.Lock()

    def do_POST(self):
        fence = self.headers.get(HEADER, "")
        with Gate.lock:
            admitted = fence.isdecimal() and int(fence) >= Gate.newest
            if admitted:
                Gate.newest = int(fence)
                self.server.state = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200 if admitted else 412 if fence.isdecimal() else 428)
        self.end_headers()


def post(url, text):
    headers = {HEADER: os.environ["TENURE_FENCE"]}
    urllib.request.urlopen(urllib.request.Request(url, text.encode(), headers, method="POST"))


def serve(port):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Gate)
    print(server.server_port, flush=True)
    server.serve_forever()


{"post": post, "serve": serve}[sys.argv[1]](*sys.argv[2:])
