"""flood.py SOCKET CLIENTS REQUESTS: clients send requests, garbage, half lines and giant lines, and subscribe without
reading. Prints the number of lines without a reply."""
import json, random, socket, sys, threading

path, count, requests = sys.argv[1], int(sys.argv[2]), sys.argv[3].split()
random.seed(1)
missing = []


def client(number):
    for part in range(4):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        answers = connection.makefile("rb")
        for i in range(50):
            kind = random.random()
            if kind < 0.1:
                connection.sendall(b"garbage" * random.randrange(1, 50) + b"\n")
            elif kind < 0.12:
                connection.sendall(b"x" * 100000 + b"\n")
            elif kind < 0.2:
                connection.sendall(b'{"request": "tog')
                connection.sendall(b'gle"}\n')
            else:
                connection.sendall(json.dumps({"id": i, "request": random.choice(requests)}).encode() + b"\n")
            if not answers.readline():
                missing.append((number, i))
        if number % 5 == 0:
            connection.sendall(b'{"request": "subscribe"}\n' + b'{"request": "masks"}\n' * 30)
        connection.close()


threads = [threading.Thread(target=client, args=(number,)) for number in range(count)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(missing))
