# A stream from ffmpeg, three listeners, and a person who looks at the server's administration.
# Debian's version, built anew for the sake of its debug information.
# packages: icecast2 ffmpeg curl gcc libxslt1-dev libvorbis-dev libxml2-dev
debian_source icecast2
(cd icecast2-*/ && ./configure CFLAGS='-g -O2' && make -j2)
ln -s icecast2-*/src/icecast .
cat > icecast.xml <<XML
<icecast>
  <limits><clients>20</clients><sources>3</sources><source-timeout>2</source-timeout></limits>
  <authentication><source-password>gallery</source-password>
    <admin-user>admin</admin-user><admin-password>gallery</admin-password></authentication>
  <hostname>localhost</hostname>
  <listen-socket><port>18531</port><bind-address>127.0.0.1</bind-address></listen-socket>
  <mount><mount-name>/backup.ogg</mount-name></mount>
  <mount><mount-name>/live.ogg</mount-name><fallback-mount>/backup.ogg</fallback-mount>
    <fallback-override>1</fallback-override></mount>
  <paths><basedir>/usr/share/icecast2</basedir><logdir>$PWD</logdir><pidfile>$PWD/pid</pidfile>
    <webroot>/usr/share/icecast2/web</webroot><adminroot>/usr/share/icecast2/admin</adminroot></paths>
  <logging><accesslog>access.log</accesslog><errorlog>error.log</errorlog><loglevel>4</loglevel></logging>
  <security><chroot>0</chroot><changeowner><user>nobody</user><group>nogroup</group></changeowner></security>
</icecast>
XML
chmod a+rwx . && chmod a+r icecast.xml
at=http://127.0.0.1:18531
stream() {
	ffmpeg -v error -re -f lavfi -i sine -t "$2" -c:a libvorbis -content_type application/ogg -f ogg \
		icecast://source:gallery@127.0.0.1:18531/"$1" &
}
watch check -- ./icecast -c icecast.xml &
server=$!
await curl -s -o status "$at/status-json.xsl"
stream backup.ogg 12
await curl -s -f -m 1 -o first "$at/backup.ogg" -r 0-1 || true
stream live.ogg 5
sleep 2
for i in 1 2 3; do curl -s -m 8 -o "heard$i" "$at/live.ogg" & done
for page in stats listmounts 'listclients?mount=/live.ogg' 'metadata?mount=/live.ogg&mode=updinfo&song=A' \
	'moveclients?mount=/live.ogg&destination=/backup.ogg' 'killsource?mount=/live.ogg'; do
	curl -s -u admin:gallery -o page "$at/admin/$page"
	sleep 0.3
done
kill -HUP "$(cat pid)"
sleep 2
kill "$(cat pid)"
wait "$server"
