import os, sys, time
shared = sys.argv[3]
label = float(open('/app/input/ref/l.txt').read())
print(sorted(os.listdir('/app/input/res')), os.path.exists('/app/input_data/a.txt'))
while not os.path.exists(shared + '/ready'): time.sleep(.01)
total = 0
for k in range(3):
    open(shared + '/qtmp', 'w').write(str(k)); os.rename(shared + '/qtmp', '%s/q%d' % (shared, k))
    while not os.path.exists('%s/a%d' % (shared, k)): time.sleep(.01)
    total += float(open('%s/a%d' % (shared, k)).read())
open('/app/output/scores.txt', 'w').write('s: %f' % (total + label))
open('/app/output/detailed_results.html', 'w').write('<p>det</p>')
