import CLinux
import Frames
