open('/app/output/scores.json','w').write('{"s": %s}' % open('/app/input/res/v').read())
