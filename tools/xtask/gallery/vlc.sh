# Three short films are played one after the other, with neither window nor sound.
# packages: vlc-bin vlc-plugin-base ffmpeg
for i in 1 2 3; do
	ffmpeg -v error -f lavfi -i "testsrc=duration=1:size=160x120:rate=25" -f lavfi -i sine=duration=1 -y "$i.mkv"
done
chmod a+rwx .
# As root it will not run.
export HOME="$PWD"
watch check -- setpriv --reuid nobody --regid nogroup --clear-groups \
	vlc -I dummy --no-plugins-cache --vout dummy --aout dummy --play-and-exit 1.mkv 2.mkv 3.mkv
