import sys, json, os
assert sys.argv[1] == 'two words' and sys.argv[2] == '/app/input/ref' and sys.argv[3] == '/app/input/res', sys.argv
want = float(open('/app/input/ref/v.txt').read()); got = float(open('/app/input/res/v.out').read())
lock = open('/app/input/res/lockfile', 'w')
json.dump({"acc": got / want, "err": abs(got - want), "ok": got == want, "extra": {"nested": [1]}, "unknown": 3}, open('/app/output/scores.json', 'w'))
open('/app/output/scores.txt','w').write('acc: -1')
